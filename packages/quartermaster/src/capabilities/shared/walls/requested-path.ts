import path from 'node:path'
import { isStorable } from '../../../contracts/index.ts'
import { Refusal } from './refusal.ts'

type Platform = NodeJS.Platform

/** A possible meaning of a requested path, inside a root by its text alone. */
export interface Candidate {
  readonly root: Root
  readonly path: string
  /** The path for the agent, which it can request again. */
  readonly display: string
}

/** Turns requested paths into places inside the roots, by text alone. */
export interface Addressing {
  /** At least one, the best first. Throws a `Refusal` for a path that is outside. */
  candidates(requested: string): Candidate[]
  /** Whether the path means all roots together: "." where there are several. */
  isEverything(requested: string): boolean
  /** How a refusal names the folders: `"./reports", "./data"`. */
  readonly folders: string
  readonly words: Pick<WallWords, 'look'>
}

interface AddressingOptions {
  roots: readonly Root[]
  projectDir: string
  platform: Platform
  words: Pick<WallWords, 'look'>
  /** Whether names may have control characters: allowed where names are only requested and never listed. */
  anyNames?: boolean | undefined
}

/**
 * A relative path is relative to the only root, or begins with the name of one of several. The other reading is tried
 * second, because agents write `reports/a.md` and `a.md` for the same file.
 */
export function createAddressing(options: AddressingOptions): Addressing {
  const { roots, projectDir, platform, words } = options
  const api = apiOf(platform)
  const folders = roots.map(root => `"${root.label}"`).join(', ')
  const display = (root: Root, place: string) => {
    const inRoot = api.relative(root.path, place).split(api.sep).join('/')
    if (roots.length > 1) return joinDisplay(root.label, inRoot)
    return inRoot === '' ? '.' : inRoot
  }
  return {
    folders,
    words,
    isEverything: requested => roots.length > 1 && api.normalize(`${requested}/`) === `.${api.sep}`,
    candidates(requested) {
      checkText(requested, options)
      const found = placesOf({ requested, roots, projectDir, platform }).flatMap(place => {
        const root = roots.find(root => contains(root.path, place, platform))
        return root ? [{ root, path: place, display: display(root, place) }] : []
      })
      if (found.length === 0) throw outside(requested, { folders, words })
      return found
    },
  }
}

/** Whether `inner` is `outer` or lies in it, by whole names: `/data/reports-secret` is not in `/data/reports`. */
export function contains(outer: string, inner: string, platform: Platform): boolean {
  const api = apiOf(platform)
  const inRoot = api.relative(outer, inner)
  return inRoot !== '..' && !inRoot.startsWith(`..${api.sep}`) && !api.isAbsolute(inRoot)
}

/** The refusal of a path outside. It does not tell whether anything is there. */
export function outside(requested: string, { folders, words }: Pick<Addressing, 'folders' | 'words'>): Refusal {
  return new Refusal(
    `"${requested}" is outside of the folders you may use: ${folders}. Give a path that ${words.look} shows.`,
  )
}

/** Whether a name is that of a temporary file, of a write in progress or one cut off by a crash. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY.test(name)
}

export function isUsableName(name: string): boolean {
  return !UNUSABLE.test(name)
}

// Control characters and halves of surrogate pairs break lines, logs and terminals.
const UNUSABLE = /[\p{Cc}\p{Cs}]/u
const TEMPORARY = /^\.quartermaster-[0-9a-f]{16}\.tmp$/i

// https://learn.microsoft.com/windows/win32/fileio/naming-a-file: devices in every folder and with every extension,
// streams behind ":", and trailing dots and spaces that are dropped, so that another name opens the same file.
const WINDOWS_DEVICE = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\.|:|$)/i
const WINDOWS_CHARACTER = /[<>:"|?*]/
const WINDOWS_ENDING = /[. ]$/

function apiOf(platform: Platform): typeof path.posix {
  return platform === 'win32' ? path.win32 : path.posix
}

type PlacesOptions = Omit<AddressingOptions, 'words' | 'anyNames'> & { requested: string }

type TextRules = Pick<AddressingOptions, 'platform' | 'anyNames'>

function checkText(requested: string, { platform, anyNames = false }: TextRules): void {
  const isUsable = anyNames ? isStorable(requested) : isUsableName(requested)
  if (!isUsable) throw new Refusal('The path has control characters or broken ones; leave them out.')
  const names = requested.split(platform === 'win32' ? /[\\/]/ : '/')
  if (names.some(isTemporaryName))
    throw new Refusal(`"${requested}" is the temporary file of a write; it is left alone.`)
  if (platform === 'win32') checkWindowsNames(requested, names)
}

function checkWindowsNames(requested: string, names: readonly string[]): void {
  const rest = /^[a-z]:$/i.test(names[0] ?? '') ? names.slice(1) : names
  const bad = rest.find(name => name !== '.' && name !== '..' && isWindowsTrap(name))
  if (bad !== undefined)
    throw new Refusal(`"${requested}" has the name "${bad}", which means something else on Windows.`)
}

function isWindowsTrap(name: string): boolean {
  return WINDOWS_DEVICE.test(name) || WINDOWS_CHARACTER.test(name) || WINDOWS_ENDING.test(name)
}

function placesOf({ requested, roots, projectDir, platform }: PlacesOptions): string[] {
  const api = apiOf(platform)
  if (api.isAbsolute(requested)) return [api.resolve(requested)]
  const fromProject = api.resolve(projectDir, requested)
  // A path that leaves one root must not be read as a path in another.
  const fromRoots = roots.flatMap(root => {
    const place = api.resolve(root.path, requested)
    return contains(root.path, place, platform) ? [place] : []
  })
  return [...new Set(roots.length === 1 ? [...fromRoots, fromProject] : [fromProject, ...fromRoots])]
}

export function joinDisplay(folder: string, inRoot: string): string {
  if (inRoot === '') return folder
  if (folder === '.') return inRoot
  return folder.endsWith('/') ? `${folder}${inRoot}` : `${folder}/${inRoot}`
}

/** A folder that an agent may use. */
export interface Root {
  /** Its name for the agent, as the owner wrote it. */
  readonly label: string
  readonly path: string
}

export interface WallsConfig {
  readonly roots: readonly Root[]
  /** The base of relative paths that are in no root; the project folder when absent. */
  readonly base?: string
  /** Whether the agent may write control files. */
  readonly editProject: boolean
}

/** Words in messages that depend on the capability. */
export interface WallWords {
  /** The tool that lists files. */
  readonly look: string
  /** The setting that names the folders, in an agent's file. */
  readonly setting: string
  /** How a person can allow writes of control files, as the end of a sentence; absent where that is impossible. */
  readonly unlock?: string
}
