/** What both demos need: JVMs of their own, a folder of database files, and an end that leaves nothing behind. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples.parts;
