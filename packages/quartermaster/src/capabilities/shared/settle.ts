import { readlink, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'

// As many as Linux follows; more are a circle.
const MOST_LINKS = 40

/** The real path of something that may not exist: links are followed as far as they lead, also those to nothing. */
export async function settle(path: string, links = MOST_LINKS): Promise<string> {
  const real = await realpath(path).catch(untold)
  if (real !== undefined) return real
  if (dirname(path) === path) return path
  const folder = await settle(dirname(path), links)
  const here = join(folder, basename(path))
  const target = await readlink(here).catch(untold)
  if (target === undefined || links === 0) return here
  // Not normalised: a ".." behind a link means the folder above the link's target.
  return settle(isAbsolute(target) ? target : `${folder}${sep}${target}`, links - 1)
}

/** Whether it is missing, closed or a circle makes no difference to where it would be. */
function untold(): undefined {
  return undefined
}
