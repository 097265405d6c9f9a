import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, link, mkdir, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Inside, Roots } from './inside.ts'
import { kindOfStat, Moved, type Pinned, type Walker } from './pinned.ts'
import { type ControlFiles, controlled } from './protected-files.ts'
import { errnoOf, isMissing, Refusal } from './refusal.ts'
import { type Addressing, type Candidate, outside } from './requested-path.ts'

/** The target of a write: a name in a pinned folder. */
export interface Place {
  readonly folder: Pinned
  readonly name: string
  readonly existing: Pinned | undefined
  readonly display: string
}

interface PlacerDeps {
  roots: Roots
  inside: Inside
  addressing: Addressing
  walker: Walker
  /** Files that must not be written; absent when all may be. */
  controlFiles?: ControlFiles
  /** How a person can allow it. */
  unlock?: string | undefined
}

/** Finds the place for a requested path; with `createFolders` missing folders are created. */
export type Placer = (requested: string, options: { createFolders: boolean }) => Promise<Place>

export function createPlacer(deps: PlacerDeps): Placer {
  return async (requested, { createFolders }) => {
    const route = await bestRoute(deps, requested)
    const { candidate, newFolders, name } = route
    if (candidate.path === candidate.root.path) throw isFolder(requested)
    const start = await pinStart(deps, route, requested)
    if (await deps.controlFiles?.hold(start, [...newFolders, name])) throw controlled(requested, deps.unlock)
    if (newFolders.length > 0 && !createFolders) throw new Refusal(noFolder(requested, deps.addressing))
    const folder = await makeFolders(deps, { start, newFolders, requested })
    return { folder, name, existing: await presentFile(deps, { folder, route, requested }), display: candidate.display }
  }
}

/** The real path that would be written. Creates nothing. */
export async function locate(deps: PlacerDeps, requested: string): Promise<string> {
  const { folder, newFolders, name } = await bestRoute(deps, requested)
  return join(await realpath(folder), ...newFolders, name)
}

function isFolder(requested: string): Refusal {
  return new Refusal(`"${requested}" is a folder; give the path of a file.`)
}

function noFolder(requested: string, { words }: Addressing): string {
  return `The folder of "${requested}" does not exist. Set createFolders to make it, or look with ${words.look}.`
}

async function pinStart({ inside }: PlacerDeps, route: Route, requested: string): Promise<Pinned> {
  const start = await inside.reach(route.folder, { requested, root: route.candidate.root })
  if (kindOfStat(start.stat) === 'folder') return start
  throw new Refusal(`"${requested}" goes through something that is not a folder.`)
}

async function makeFolders(
  deps: PlacerDeps,
  { start, newFolders, requested }: { start: Pinned; newFolders: readonly string[]; requested: string },
): Promise<Pinned> {
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
  await mkdir(folder.at(name)).catch(ignoreExisting)
  await walker.confirm(folder)
  await syncFolder(folder, walker)
  return inside.child(folder, name)
}

async function presentFile(
  deps: PlacerDeps,
  { folder, route, requested }: { folder: Pinned; route: Route; requested: string },
): Promise<Pinned | undefined> {
  const found = await deps.inside.child(folder, route.name).catch((error: unknown): 'nothing' => {
    if (isMissing(error)) return 'nothing'
    // Without a real path before, it is a dangling link.
    if (error instanceof Moved && !route.exists) throw new Refusal(`"${requested}" is a link that leads nowhere.`)
    throw error
  })
  if (found === 'nothing') return undefined
  if (found === undefined) throw outside(requested, deps.addressing)
  const kind = kindOfStat(found.stat)
  if (kind === 'folder') throw isFolder(requested)
  if (kind !== 'file') throw new Refusal(`"${requested}" is a pipe, socket or device, not a file.`)
  return found
}

/** The route to a file that may not exist: an existing folder, new folders, and a name. */
interface Route {
  readonly candidate: Candidate
  readonly folder: string
  readonly newFolders: readonly string[]
  readonly name: string
  readonly exists: boolean
}

/** The route to an existing file, else one in an existing folder, else the first. */
async function bestRoute({ roots, inside, addressing }: PlacerDeps, requested: string): Promise<Route> {
  const wanted = addressing.candidates(requested)
  const { candidates, problems } = await roots.usable(wanted)
  const routes: Route[] = []
  for (const candidate of candidates) {
    await inside.refuseOutside(candidate.path, { requested, root: candidate.root })
    const route = await routeTo(candidate)
    if (route.exists) return route
    routes.push(route)
  }
  // A new file is not created in another folder when its own cannot be used.
  if (problems[0] && candidates[0] !== wanted[0]) throw problems[0]
  return (routes.find(route => route.newFolders.length === 0) ?? routes[0]) as Route
}

async function routeTo(candidate: Candidate): Promise<Route> {
  const real = await realpath(candidate.path).catch(undefinedIfMissing)
  if (real !== undefined)
    return { candidate, folder: dirname(real), newFolders: [], name: basename(real), exists: true }
  const newFolders: string[] = []
  let folder = dirname(candidate.path)
  while (folder !== candidate.root.path && (await realpath(folder).catch(undefinedIfMissing)) === undefined) {
    newFolders.unshift(basename(folder))
    folder = dirname(folder)
  }
  return { candidate, folder, newFolders, name: basename(candidate.path), exists: false }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

function ignoreExisting(error: unknown): void {
  if (errnoOf(error) !== 'EEXIST') throw error
}

interface AtomicWriteOptions {
  place: Place
  data: Uint8Array
  /** Whether to replace a present file; otherwise `EEXIST`. */
  replace: boolean
  walker: Walker
  signal: AbortSignal
  /** A last check right before the file is replaced: if it throws, nothing changes. */
  confirm?: () => Promise<void>
}

/** Writes a temporary file, syncs it and renames it, so that readers see the old or the new content, never a part. */
export async function writeAtomically(options: AtomicWriteOptions): Promise<void> {
  const { place, data, replace, walker, signal, confirm } = options
  const { folder, name, existing } = place
  // A write-protected file must not be replaced through its folder.
  if (existing) await access(existing.at(), constants.W_OK)
  const temporary = `.quartermaster-${randomBytes(8).toString('hex')}.tmp`
  // Private until its mode is set, in case the file is private.
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
    else await renameNew(place, temporary, walker)
  } finally {
    // A leftover temporary file is harmless: such names are never shown.
    await rm(folder.at(temporary), { force: true }).catch(() => {})
  }
  await syncFolder(folder, walker)
}

const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/** `link` fails when the name is taken; `rename` would replace a file that was created meanwhile. */
async function renameNew({ folder, name }: Place, temporary: string, walker: Walker): Promise<void> {
  try {
    await link(folder.at(temporary), folder.at(name))
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error
    // Without hard links (FAT, some network shares): take the name first, then fill it in one step.
    await walker.close(await walker.create(folder, name, 0o666))
    await rename(folder.at(temporary), folder.at(name))
  }
}

// Windows and some network file systems cannot sync a folder, and a writable folder may be unreadable.
const CANNOT_SYNC = new Set(['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM'])

/** Without syncing its folder, a renamed file can be gone after a power cut. */
async function syncFolder(folder: Pinned, walker: Walker): Promise<void> {
  try {
    const handle = await walker.open(folder, constants.O_RDONLY)
    await handle.sync().finally(() => walker.close(handle))
  } catch (error) {
    if (!CANNOT_SYNC.has(errnoOf(error) ?? '')) throw error
  }
}
