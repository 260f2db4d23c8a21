import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Draws what comes in as a terminal: each line appears when it came, twice as fast, and stays. Who asks for less motion sees all of
 * them at once. Run by bin/record-demo.
 */
final class DemoPicture {
    private static final int LINE = 19;
    private static final int WIDTH = 900;
    private static final double FASTER = 2;

    private record Line(double seconds, String text) {}

    private DemoPicture() {}

    public static void main(String[] arguments) throws IOException {
        List<Line> lines = new ArrayList<>(List.of(new Line(0, "$ bin/demo")));
        long start = System.nanoTime();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.println(line);
                lines.add(new Line((System.nanoTime() - start) / 1e9, line));
            }
        }
        Files.writeString(Path.of(arguments[0]), draw(lines));
    }

    private static String draw(List<Line> lines) {
        int height = lines.size() * LINE + 50;
        StringBuilder svg = new StringBuilder("""
                <svg xmlns="http://www.w3.org/2000/svg" width="%1$d" height="%2$d" viewBox="0 0 %1$d %2$d" role="img" aria-label="What bin/demo prints">
                <style>
                text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d7dde4; white-space: pre; animation: appear 1ms both; }
                .command { fill: #7ee787; } .bad { fill: #ff8f8f; } .good { fill: #7ee787; } .note { fill: #f2cc60; }
                @keyframes appear { from { opacity: 0; } }
                @media (prefers-reduced-motion: reduce) { text { animation: none; } }
                </style>
                <rect width="100%%" height="100%%" rx="8" fill="#161b22"/>
                <circle cx="20" cy="18" r="6" fill="#ff5f56"/><circle cx="40" cy="18" r="6" fill="#ffbd2e"/><circle cx="60" cy="18" r="6" fill="#27c93f"/>
                """.formatted(WIDTH, height));
        for (int i = 0; i < lines.size(); i++) {
            Line line = lines.get(i);
            if (!line.text().isBlank()) {
                svg.append(String.format(
                        Locale.ROOT,
                        "<text x=\"16\" y=\"%d\" class=\"%s\" style=\"animation-delay:%.2fs\" xml:space=\"preserve\">%s</text>%n",
                        50 + i * LINE,
                        kind(line.text()),
                        line.seconds() / FASTER,
                        line.text().replace("&", "&amp;").replace("<", "&lt;")));
            }
        }
        return svg.append("</svg>\n").toString();
    }

    private static String kind(String line) {
        if (line.startsWith("$ ")) {
            return "command";
        } else if (line.contains("SIGKILL")) {
            return "note";
        }
        boolean oversold = line.matches(".* [1-9]\\d* oversold") || line.matches("oversold .*: [1-9]\\d*");
        boolean none = line.matches(".* 0 oversold") || line.matches("oversold .*: 0");
        return oversold ? "bad" : none ? "good" : "plain";
    }
}
