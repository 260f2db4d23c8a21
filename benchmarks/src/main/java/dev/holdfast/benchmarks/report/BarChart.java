package dev.holdfast.benchmarks.report;

import java.util.List;
import java.util.Locale;

/** Horizontal bars as SVG, one a candidate. Written by hand, because drawing libraries want fonts, and servers have none. */
public final class BarChart {
    private static final int BAR = 20;
    private static final int GAP = 6;
    private static final int LEFT = 216;
    private static final int WIDTH = 760;
    private static final int ROOM = 110;
    private static final int TOP = 58;

    private BarChart() {}

    /**
     * A bar.
     *
     * @param label to its left
     * @param value its length, not negative
     * @param text to its right
     * @param colour of CSS
     */
    public record Bar(String label, double value, String text, String colour) {}

    /**
     * Draws.
     *
     * @param title above
     * @param unit below the title: what the bars measure
     * @param bars from top to bottom
     * @return the SVG document
     */
    public static String svg(String title, String unit, List<Bar> bars) {
        double most = bars.stream().mapToDouble(Bar::value).max().orElse(1);
        int height = TOP + bars.size() * (BAR + GAP) + GAP;
        StringBuilder svg = new StringBuilder(String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\""
                        + " role=\"img\" aria-labelledby=\"chart-title\" font-family=\"sans-serif\" font-size=\"13\">%n"
                        + "<title id=\"chart-title\">%s: %s</title>%n"
                        + "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n"
                        + "<text x=\"12\" y=\"26\" font-size=\"15\" font-weight=\"bold\">%s</text>%n"
                        + "<text x=\"12\" y=\"45\" fill=\"#444444\">%s</text>%n",
                WIDTH,
                height,
                WIDTH,
                height,
                escaped(title),
                escaped(unit),
                escaped(title),
                escaped(unit)));
        for (int i = 0; i < bars.size(); i++) {
            Bar bar = bars.get(i);
            int y = TOP + i * (BAR + GAP);
            double width = most == 0 ? 0 : Math.max(1, bar.value() / most * (WIDTH - LEFT - ROOM));
            svg.append(String.format(
                    Locale.ROOT,
                    "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n"
                            + "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>%n"
                            + "<text x=\"%.1f\" y=\"%d\">%s</text>%n",
                    LEFT - 8,
                    y + 15,
                    escaped(bar.label()),
                    LEFT,
                    y,
                    width,
                    BAR,
                    escaped(bar.colour()),
                    LEFT + width + 6,
                    y + 15,
                    escaped(bar.text())));
        }
        return svg.append("</svg>\n").toString();
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
