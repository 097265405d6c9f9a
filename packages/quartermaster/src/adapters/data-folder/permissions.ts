import type { Stats } from 'node:fs'

const GROUP_AND_OTHERS = 0o077

/** Whether anyone but the owner is let in, or the owner is not us. Windows keeps its permissions elsewhere. */
export function openToOthers(stats: Stats): boolean {
  if (process.platform === 'win32') return false
  return (stats.mode & GROUP_AND_OTHERS) !== 0 || !isOurs(stats)
}

/** Root may use anyone's, as it does in containers whose volumes belong to a user. */
function isOurs({ uid }: Stats): boolean {
  const own = process.geteuid?.()
  return own === 0 || own === uid
}
