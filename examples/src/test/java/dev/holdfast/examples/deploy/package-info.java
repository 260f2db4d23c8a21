/** What an application that adds Holdfast has: class paths, module paths, threads. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples.deploy;
