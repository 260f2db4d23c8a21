/**
 * The Lua scripts and their answers. The scripts are resources in the folder of this package; their headers say keys, arguments and
 * answers.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.redis.internal.script;
