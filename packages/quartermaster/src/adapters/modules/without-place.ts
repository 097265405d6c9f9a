import { pathToFileURL } from 'node:url'

const MAP = '//# sourceMappingURL=data:application/json;base64,'

/**
 * A bundle without the folder it was made in: the same project elsewhere has the same tools, and what was asked for on one machine
 * can be answered and done on another.
 */
export function withoutPlace(code: string, root: string): string {
  const at = code.lastIndexOf(MAP)
  const text = at < 0 ? code : code.slice(0, at) + Buffer.from(code.slice(at + MAP.length), 'base64').toString()
  return root === '/' ? text : text.replaceAll(pathToFileURL(root).href, '').replaceAll(root, '')
}
