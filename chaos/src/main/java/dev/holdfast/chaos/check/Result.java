package dev.holdfast.chaos.check;

import java.util.List;
import java.util.Map;

/**
 * What a check found.
 *
 * @param check its name
 * @param violations what breaks the rule, in words
 * @param facts what was counted or measured, in a constant order
 */
public record Result(String check, List<String> violations, Map<String, Object> facts) {}
