/** Tests of the server fixtures, with real processes and sockets. */
@NullMarked
package dev.holdfast.lock.testkit.server;

import org.jspecify.annotations.NullMarked;
