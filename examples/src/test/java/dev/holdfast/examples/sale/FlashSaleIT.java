package dev.holdfast.examples.sale;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class FlashSaleIT {

    @Test
    void demo_onAnH2File_oversellsWithoutTheLockAndNotWithIt() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int status = FlashSale.run(new PrintStream(bytes, true, StandardCharsets.UTF_8), "--seconds", "4");
        String text = bytes.toString(StandardCharsets.UTF_8);
        assertThat(status).as(text).isZero();
        List<String> lines = text.lines().toList();
        assertThat(lines.get(lines.size() - 1)).isEqualTo("oversold with lock: 0");
        Matcher without = Pattern.compile("oversold without lock: (\\d+)").matcher(lines.get(lines.size() - 2));
        assertThat(without.matches()).isTrue();
        assertThat(Integer.parseInt(without.group(1))).isPositive();
        assertThat(text).contains("gets SIGKILL").containsPattern("take-over after SIGKILL +- +\\d+\\.\\d+ s");
    }

    @Test
    void demo_unknownBackend_failsBeforeTheSaleAndListsTheSchemes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int status = FlashSale.run(
                new PrintStream(bytes, true, StandardCharsets.UTF_8), "--backend", "nosuch://localhost:1");
        assertThat(status).isEqualTo(1);
        assertThat(bytes.toString(StandardCharsets.UTF_8)).doesNotContain("Without a lock");
    }

    @Test
    void demo_wrongArguments_exitWith2() {
        PrintStream nowhere = new PrintStream(PrintStream.nullOutputStream());
        assertThat(FlashSale.run(nowhere, "--seconds", "0")).isEqualTo(2);
        assertThat(FlashSale.run(nowhere, "--processes", "1")).isEqualTo(2);
        assertThat(FlashSale.run(nowhere, "--no-such-option")).isEqualTo(2);
    }

    @Test
    void result_countsWhatWasSoldButNotTaken() {
        assertThat(result(100, 0, 130).oversold()).isEqualTo(30);
        assertThat(result(100, 40, 60).oversold()).isZero();
        assertThat(result(100, 40, 61).oversold()).isEqualTo(1);
    }

    private static SaleResult result(int stock, int left, int sold) {
        return new SaleResult(stock, left, sold, 1, 0, 0, java.util.OptionalLong.empty(), 0, 0);
    }
}
