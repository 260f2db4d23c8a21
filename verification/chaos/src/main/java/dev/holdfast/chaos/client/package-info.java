/** The client processes of a run, from {@link dev.holdfast.chaos.client.ClientMain}. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.chaos.client;
