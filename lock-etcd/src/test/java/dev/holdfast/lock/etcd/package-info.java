/** Tests of the etcd backend on real servers. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.etcd;
