/** Tests of the history's files. */
package dev.holdfast.chaos.history;
