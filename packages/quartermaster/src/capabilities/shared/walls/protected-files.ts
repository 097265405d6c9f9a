import type { BigIntStats } from 'node:fs'
import { lstat, readdir, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import type { Paths } from '../../../core/catalogue/index.ts'
import { memoize } from '../../../core/kernel/index.ts'
import { fold } from '../text.ts'
import { type Identity, isSame, type Pinned } from './pinned.ts'
import { ignoreMissing, isMissing, Refusal } from './refusal.ts'
import { contains } from './requested-path.ts'

// These decide what agents may do and which code the gateway runs.
const CONTROL_NAMES = ['quartermaster.config.json', 'agents', 'capabilities', 'knowledge']

/** The files that define permissions. An agent that wrote them would give itself permission. */
export interface ControlFiles {
  /** Whether the path of these names below a folder is or lies in a control file; it need not exist. */
  hold(folder: Pinned, names: readonly string[]): Promise<boolean>
}

/** The project's control files. Reads the file system each time, so that a new folder is recognized. */
export function createControlFiles({ projectDir, configFile }: Omit<Paths, 'dataDir'>): ControlFiles {
  const named = CONTROL_NAMES.map(name => join(projectDir, name))
  const controls = configFile === undefined ? named : [...named, configFile]
  return {
    hold: async (folder, names) =>
      (await isNamed(projectDir, folder, names)) ||
      (await isPartOf(controls, folder, names)) ||
      (await isPathOfControl(controls, folder, names)),
  }
}

/** The refusal of writing them. */
export function controlled(requested: string, unlock: string | undefined): Refusal {
  return new Refusal(
    `"${requested}" was not written: it belongs to the project's control files (${CONTROL_NAMES.join(', ')}), ` +
      `which decide what agents may do. A person has to make this change${unlock === undefined ? '' : `, ${unlock}`}.`,
  )
}

/** By name in the project folder, in any spelling, whether or not it exists. */
async function isNamed(projectDir: string, folder: Pinned, [name = '']: readonly string[]): Promise<boolean> {
  if (!CONTROL_NAMES.includes(fold(name))) return false
  const project = await identityOf(projectDir)
  return project !== undefined && isSame(project, folder.stat)
}

/** By device and inode, which do not depend on names, links or mounts. */
async function isPartOf(controls: readonly string[], folder: Pinned, names: readonly string[]): Promise<boolean> {
  const identities = await Promise.all(controls.map(identityOf))
  const isControl = (other: Identity) => identities.some(identity => identity && isSame(identity, other))
  for await (const ancestor of upwards(folder)) if (isControl(ancestor)) return true
  const file = names.length === 1 ? await identityOf(folder.at(names[0])) : undefined
  return file !== undefined && isControl(file)
}

/** By path, for missing files: a control file can be a dangling link, whose target would become it. */
async function isPathOfControl(
  controls: readonly string[],
  folder: Pinned,
  names: readonly string[],
): Promise<boolean> {
  const place = fold(join(await realpath(folder.at()), ...names))
  const controlPaths = await Promise.all(controls.map(control => resolveReal(control)))
  return controlPaths.some(control => contains(fold(control), place, process.platform))
}

/** The gateway's own folder with credentials and records. It is never inside, wherever it lies. */
export interface DataFolder {
  /** Whether this is the data folder, under any name, or a hard link to one of its files. */
  owns(stat: BigIntStats): Promise<boolean>
  /** Whether this folder is or lies in the data folder. */
  holds(folder: Pinned): Promise<boolean>
  /** Whether this real path is in the data folder, even while that does not exist. */
  claims(realPath: string): Promise<boolean>
}

/** Reads the identity of the data folder. */
export async function readDataFolder(dataDir: string): Promise<DataFolder> {
  const identity = await identityOf(dataDir)
  const is = (other: Identity) => identity !== undefined && isSame(identity, other)
  // Listed once per call: package folders are full of hard links.
  const files = memoize(() => filesIn(dataDir))
  return {
    // Only a file with several names can be in two folders.
    owns: async stat => is(stat) || (stat.isFile() && stat.nlink > 1n && (await files()).has(keyOf(stat))),
    holds: async folder => {
      if (identity === undefined) return false
      for await (const ancestor of upwards(folder)) if (is(ancestor)) return true
      return false
    },
    claims: async realPath => contains(fold(await resolveReal(dataDir)), fold(realPath), process.platform),
  }
}

async function filesIn(dir: string): Promise<ReadonlySet<string>> {
  const names = await readdir(dir, { recursive: true }).catch(ignoreMissing)
  const stats = await Promise.all(
    (names ?? []).map(name => lstat(join(dir, name), { bigint: true }).catch(ignoreMissing)),
  )
  return new Set(stats.flatMap(stat => (stat?.isFile() ? [keyOf(stat)] : [])))
}

const keyOf = ({ dev, ino }: Identity) => `${dev}:${ino}`

/** The identity of the target of a path; `undefined` when there is none. */
async function identityOf(path: string): Promise<Identity | undefined> {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** The folder and all folders above it, by "..", which does not depend on names. */
async function* upwards(folder: Pinned): AsyncGenerator<Identity> {
  let path = folder.at()
  let here: Identity = folder.stat
  for (;;) {
    yield here
    path += '/..'
    const above = await stat(path, { bigint: true })
    if (isSame(above, here)) return
    here = above
  }
}

// The limit of Linux; more links are a circle.
const MOST_LINKS = 40

/** The real path of a file that may not exist, following links, also dangling ones. */
export async function resolveReal(path: string, links = MOST_LINKS): Promise<string> {
  const real = await realpath(path).catch(noTarget)
  if (real !== undefined) return real
  if (dirname(path) === path) return path
  const folder = await resolveReal(dirname(path), links)
  const here = join(folder, basename(path))
  const target = await readlink(here).catch(noTarget)
  if (target === undefined || links === 0) return here
  // Not normalised: ".." behind a link means the folder above its target.
  return resolveReal(isAbsolute(target) ? target : `${folder}${sep}${target}`, links - 1)
}

/** Missing, closed and circular paths are treated alike: only the place matters. */
function noTarget(): undefined {
  return undefined
}
