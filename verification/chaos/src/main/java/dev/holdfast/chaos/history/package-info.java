/**
 * What happened: {@link dev.holdfast.chaos.history.EventLog} is written by each client process,
 * {@link dev.holdfast.chaos.history.History} is read from all of their files.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.chaos.history;
