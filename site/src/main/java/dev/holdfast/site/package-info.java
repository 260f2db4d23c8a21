/** Makes a site of the documentation: pages with a search, and the Javadoc of all modules. */
@NullMarked
package dev.holdfast.site;

import org.jspecify.annotations.NullMarked;
