import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Paths } from '../../core/catalogue/index.ts'
import { fold } from './fold.ts'
import { identityOf, upwards } from './identity.ts'
import { type Identity, isSame, type Pinned } from './pinned.ts'
import { Refusal } from './refusal.ts'
import { contains } from './requested-path.ts'
import { settle } from './settle.ts'

// What stands here decides what agents may do and which code the gateway runs.
const CONTROL_NAMES = ['quartermaster.config.json', 'agents', 'capabilities', 'knowledge']

/** The files that say what every agent may do. An agent that wrote them would give itself its permission. */
export interface ControlFiles {
  /** Whether what has these names from this folder on is one of them or lies in one; it need not exist. */
  hold(folder: Pinned, names: readonly string[]): Promise<boolean>
}

/**
 * Knows the project's control files. It looks anew each time: a folder that is pinned by then and lies in one of them
 * is seen, also when that one was made a moment ago.
 */
export function createControlFiles({ projectDir, configFile }: Omit<Paths, 'dataDir'>): ControlFiles {
  const named = CONTROL_NAMES.map(name => join(projectDir, name))
  const controls = configFile === undefined ? named : [...named, configFile]
  return {
    hold: async (folder, names) =>
      (await isNamed(projectDir, folder, names)) ||
      (await isPartOf(controls, folder, names)) ||
      (await isAwaited(controls, folder, names)),
  }
}

/** The refusal of writing them. */
export function controlled(requested: string, unlock: string | undefined): Refusal {
  return new Refusal(
    `"${requested}" was not written: it belongs to the project's control files (${CONTROL_NAMES.join(', ')}), ` +
      `which decide what agents may do. A person has to make this change${unlock === undefined ? '' : `, ${unlock}`}.`,
  )
}

/** By name in the project folder, whether or not it is there: a file system may take any spelling for it. */
async function isNamed(projectDir: string, folder: Pinned, [name = '']: readonly string[]): Promise<boolean> {
  if (!CONTROL_NAMES.includes(fold(name))) return false
  const project = await identityOf(projectDir)
  return project !== undefined && isSame(project, folder.stat)
}

/** By device and inode, which no name, link or mount can mislead. */
async function isPartOf(controls: readonly string[], folder: Pinned, names: readonly string[]): Promise<boolean> {
  const identities = await Promise.all(controls.map(identityOf))
  const isControl = (other: Identity) => identities.some(identity => identity && isSame(identity, other))
  for await (const ancestor of upwards(folder)) if (isControl(ancestor)) return true
  const file = names.length === 1 ? await identityOf(folder.at(names[0])) : undefined
  return file !== undefined && isControl(file)
}

/** By path, for what does not exist yet: a control file can be a link to nothing, and what is made there becomes it. */
async function isAwaited(controls: readonly string[], folder: Pinned, names: readonly string[]): Promise<boolean> {
  const place = fold(join(await realpath(folder.at()), ...names))
  const awaited = await Promise.all(controls.map(control => settle(control)))
  return awaited.some(control => contains(fold(control), place, process.platform))
}
