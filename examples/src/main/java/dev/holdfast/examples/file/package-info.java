/**
 * A backend in three small classes, locks in files of one machine: {@link dev.holdfast.examples.file.FileLockBackend}
 * first. It is the worked example of {@code docs/adding-a-backend.md} and passes the contract.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples.file;
