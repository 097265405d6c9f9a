import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, link, mkdir, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Inside, Roots } from './inside.ts'
import { kindOfStat, Moved, type Pinned, type Walker } from './pinned.ts'
import { type ControlFiles, controlled } from './protected-files.ts'
import { errnoOf, isMissing, Refusal } from './refusal.ts'
import { type Addressing, type Candidate, outside } from './requested-path.ts'

/** Where a file is to be written: a name in a pinned folder. */
export interface Place {
  readonly folder: Pinned
  readonly name: string
  /** The file that is there now. */
  readonly existing: Pinned | undefined
  readonly display: string
}

interface PlacerDeps {
  roots: Roots
  inside: Inside
  addressing: Addressing
  walker: Walker
  /** What must not be written; absent when everything inside may be. */
  controlFiles?: ControlFiles
  /** How a person lets the agent write that after all. */
  unlock?: string | undefined
}

/** Finds the place that a requested path means; with `createFolders` the folders on the way are made. */
export type Placer = (requested: string, options: { createFolders: boolean }) => Promise<Place>

export function createPlacer(deps: PlacerDeps): Placer {
  return async (requested, { createFolders }) => {
    const way = await bestWay(deps, requested)
    const { candidate, newFolders, name } = way
    if (candidate.path === candidate.root.path) throw isFolder(requested)
    const start = await pinStart(deps, way, requested)
    if (await deps.controlFiles?.hold(start, [...newFolders, name])) throw controlled(requested, deps.unlock)
    if (newFolders.length > 0 && !createFolders) throw new Refusal(noFolder(requested, deps.addressing))
    const folder = await makeFolders(deps, { start, newFolders, requested })
    return { folder, name, existing: await look(deps, { folder, way, requested }), display: candidate.display }
  }
}

/** The real path that would be written to, whether anything is there or not. Nothing is made. */
export async function locate(deps: PlacerDeps, requested: string): Promise<string> {
  const { folder, newFolders, name } = await bestWay(deps, requested)
  return join(await realpath(folder), ...newFolders, name)
}

function isFolder(requested: string): Refusal {
  return new Refusal(`"${requested}" is a folder; give the path of a file.`)
}

function noFolder(requested: string, { words }: Addressing): string {
  return `The folder of "${requested}" does not exist. Set createFolders to make it, or look with ${words.look}.`
}

/** The folder on the way that is there already. */
async function pinStart({ inside }: PlacerDeps, way: Way, requested: string): Promise<Pinned> {
  const start = await inside.reach(way.folder, { requested, root: way.candidate.root })
  if (kindOfStat(start.stat) === 'folder') return start
  throw new Refusal(`"${requested}" goes through something that is not a folder.`)
}

interface MakeOptions {
  start: Pinned
  newFolders: readonly string[]
  requested: string
}

async function makeFolders(deps: PlacerDeps, { start, newFolders, requested }: MakeOptions): Promise<Pinned> {
  let folder = start
  for (const name of newFolders) {
    const made = await makeFolder(deps, folder, name)
    if (!made) throw outside(requested, deps.addressing)
    folder = made
  }
  return folder
}

async function makeFolder({ inside, walker }: PlacerDeps, folder: Pinned, name: string): Promise<Pinned | undefined> {
  await walker.confirm(folder)
  await mkdir(folder.at(name)).catch(unlessThere)
  await walker.confirm(folder)
  await syncFolder(folder, walker)
  return inside.child(folder, name)
}

interface LookOptions {
  folder: Pinned
  way: Way
  requested: string
}

/** The file that is in the place now. */
async function look(deps: PlacerDeps, { folder, way, requested }: LookOptions): Promise<Pinned | undefined> {
  const found = await deps.inside.child(folder, way.name).catch((error: unknown): 'nothing' => {
    if (isMissing(error)) return 'nothing'
    // What had no real path and is a link now was a dangling one all along.
    if (error instanceof Moved && !way.exists) throw new Refusal(`"${requested}" is a link that leads nowhere.`)
    throw error
  })
  if (found === 'nothing') return undefined
  if (found === undefined) throw outside(requested, deps.addressing)
  const kind = kindOfStat(found.stat)
  if (kind === 'folder') throw isFolder(requested)
  if (kind !== 'file') throw new Refusal(`"${requested}" is a pipe, socket or device, not a file.`)
  return found
}

/** How to get to a file that may not exist: from an existing folder over new ones to a name. */
interface Way {
  readonly candidate: Candidate
  readonly folder: string
  readonly newFolders: readonly string[]
  readonly name: string
  readonly exists: boolean
}

/** The place of an existing file, else one in an existing folder, else the first. */
async function bestWay({ roots, inside, addressing }: PlacerDeps, requested: string): Promise<Way> {
  const wanted = addressing.candidates(requested)
  const { candidates, problems } = await roots.usable(wanted)
  const ways: Way[] = []
  for (const candidate of candidates) {
    await inside.refuseOutside(candidate.path, { requested, root: candidate.root })
    const way = await wayTo(candidate)
    if (way.exists) return way
    ways.push(way)
  }
  // A new file goes where its path says. When that folder cannot be used, another one would be a surprise.
  if (problems[0] && candidates[0] !== wanted[0]) throw problems[0]
  return (ways.find(way => way.newFolders.length === 0) ?? ways[0]) as Way
}

async function wayTo(candidate: Candidate): Promise<Way> {
  const real = await realpath(candidate.path).catch(unlessMissing)
  if (real !== undefined)
    return { candidate, folder: dirname(real), newFolders: [], name: basename(real), exists: true }
  const newFolders: string[] = []
  let folder = dirname(candidate.path)
  while (folder !== candidate.root.path && (await realpath(folder).catch(unlessMissing)) === undefined) {
    newFolders.unshift(basename(folder))
    folder = dirname(folder)
  }
  return { candidate, folder, newFolders, name: basename(candidate.path), exists: false }
}

function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

function unlessThere(error: unknown): void {
  if (errnoOf(error) !== 'EEXIST') throw error
}

interface AtomicWriteOptions {
  place: Place
  data: Uint8Array
  /** Take the place of what is there; otherwise `EEXIST` when anything is. */
  replace: boolean
  walker: Walker
  signal: AbortSignal
  /** A last look, right before the new content takes its place: what it throws leaves everything as it is. */
  confirm?: () => Promise<void>
}

/**
 * Writes a file so that everyone sees the old content or the new one, never a part: a temporary file in the same folder
 * is written, synced and put under the name in one step.
 */
export async function writeAtomically({
  place,
  data,
  replace,
  walker,
  signal,
  confirm,
}: AtomicWriteOptions): Promise<void> {
  const { folder, name, existing } = place
  // A file that is closed to writing must not be replaced through its folder.
  if (existing) await access(existing.at(), constants.W_OK)
  const temporary = `.quartermaster-${randomBytes(8).toString('hex')}.tmp`
  // Until its mode is set, the new content of a private file is private too.
  const handle = await walker.create(folder, temporary, existing ? 0o600 : 0o666)
  try {
    await handle.writeFile(data)
    if (existing) await handle.chmod(Number(existing.stat.mode & 0o777n))
    await handle.sync()
    await walker.close(handle)
    signal.throwIfAborted()
    await walker.confirm(folder)
    await confirm?.()
    if (replace) await rename(folder.at(temporary), folder.at(name))
    else await putNew({ place, temporary, walker })
  } finally {
    // A leftover that cannot be removed does no harm: such names are never shown.
    await rm(folder.at(temporary), { force: true }).catch(() => {})
  }
  await syncFolder(folder, walker)
}

const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/** `link` fails when the name is taken; `rename` would replace what came there meanwhile. */
async function putNew({
  place,
  temporary,
  walker,
}: {
  place: Place
  temporary: string
  walker: Walker
}): Promise<void> {
  const { folder, name } = place
  try {
    await link(folder.at(temporary), folder.at(name))
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error
    // Without hard links (FAT, some network shares): take the name first, then fill it in one step.
    await walker.close(await walker.create(folder, name, 0o666))
    await rename(folder.at(temporary), folder.at(name))
  }
}

// Windows cannot sync a folder, some network file systems neither, and a folder one may write to need not be readable.
const CANNOT = new Set(['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM'])

/** Makes the names in a folder last: a renamed file can be gone after a power cut while its folder is not synced. */
async function syncFolder(folder: Pinned, walker: Walker): Promise<void> {
  try {
    const handle = await walker.open(folder, constants.O_RDONLY)
    await handle.sync().finally(() => walker.close(handle))
  } catch (error) {
    if (!CANNOT.has(errnoOf(error) ?? '')) throw error
  }
}
