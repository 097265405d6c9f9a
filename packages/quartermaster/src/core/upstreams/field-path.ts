/** A key that cannot be taken for a way through several. A place in a list is a number, so no such key begins with one. */
const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/

/**
 * The way to a value: `inputSchema.properties.path.enum.0`, or `_meta["a.b"]` where a key could be read as something else. No
 * two values of one definition have the same, or a server could hide one behind another.
 */
export function fieldPath(path: string, key: string | number): string {
  if (typeof key === 'string' && !PLAIN_KEY.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === '' ? String(key) : `${path}.${key}`
}
