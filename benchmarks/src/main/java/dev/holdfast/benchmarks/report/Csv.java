package dev.holdfast.benchmarks.report;

import java.util.List;

/** Every figure of every round, one a line. */
public final class Csv {
    private Csv() {}

    /**
     * Writes figures.
     *
     * @param figures of a run
     * @return a heading and one line each
     */
    public static String of(List<Results.Figure> figures) {
        StringBuilder text = new StringBuilder("store,scenario,candidate,round,metric,value\n");
        for (Results.Figure figure : figures) {
            text.append(String.join(
                            ",",
                            quoted(figure.store()),
                            quoted(figure.scenario()),
                            quoted(figure.candidate()),
                            Integer.toString(figure.round()),
                            quoted(figure.metric().title()),
                            Double.toString(figure.value())))
                    .append('\n');
        }
        return text.toString();
    }

    private static String quoted(String text) {
        return text.matches("[^,\"\\r\\n]*") ? text : '"' + text.replace("\"", "\"\"") + '"';
    }
}
