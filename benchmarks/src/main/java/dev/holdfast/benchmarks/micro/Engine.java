package dev.holdfast.benchmarks.micro;

import java.io.PrintStream;
import java.nio.file.Path;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/** Runs the benchmarks of the engine. */
public final class Engine {
    private Engine() {}

    /**
     * Runs them all.
     *
     * @param folder where {@code engine.csv} goes
     * @param quick for a rough figure
     * @param out receives the path of the files
     * @throws RunnerException if one failed
     */
    public static void run(Path folder, boolean quick, PrintStream out) throws RunnerException {
        Path csv = folder.resolve("engine.csv");
        new Runner(new OptionsBuilder()
                        .include(EngineBenchmark.class.getName())
                        .forks(quick ? 1 : 3)
                        .warmupIterations(quick ? 2 : 5)
                        .warmupTime(TimeValue.seconds(1))
                        .measurementIterations(quick ? 3 : 5)
                        .measurementTime(TimeValue.seconds(1))
                        .shouldFailOnError(true)
                        .resultFormat(ResultFormatType.CSV)
                        .result(csv.toString())
                        .build())
                .run();
        out.println("written: " + csv);
    }
}
