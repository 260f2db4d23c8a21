package dev.holdfast.lock.cli;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads {@code 500ms}, {@code 5s}, {@code 2m}, {@code 1h}, {@code 1d}, {@code 2.5} (seconds) and {@code PT5S}. */
final class DurationText implements ITypeConverter<Duration> {
    private static final Pattern SHORT = Pattern.compile("(\\d{1,9}(?:\\.\\d{1,9})?)(ms|s|m|h|d)?");

    @Override
    public Duration convert(String text) {
        Matcher parts = SHORT.matcher(text);
        if (parts.matches()) {
            return Duration.ofNanos(Math.round(Double.parseDouble(parts.group(1)) * nanos(parts.group(2))));
        }
        try {
            Duration duration = Duration.parse(text);
            if (!duration.isNegative()) {
                return duration;
            }
        } catch (DateTimeParseException e) {
            // The message below says it better.
        }
        throw new TypeConversionException("'" + text + "' is no duration; write 500ms, 5s, 2m, 1h or 1d");
    }

    private static double nanos(@org.jspecify.annotations.Nullable String unit) {
        return switch (unit == null ? "s" : unit) {
            case "ms" -> 1e6;
            case "s" -> 1e9;
            case "m" -> 60e9;
            case "h" -> 3600e9;
            default -> 86_400e9;
        };
    }

    /** As in the options: in milliseconds, or in seconds where that is exact. */
    static String of(Duration duration) {
        long millis = duration.toMillis();
        return millis % 1000 == 0 ? millis / 1000 + "s" : millis + "ms";
    }
}
