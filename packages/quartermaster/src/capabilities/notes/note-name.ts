import { showHidden } from '../../core/upstreams/index.ts'
import { Refusal } from '../shared/walls/refusal.ts'

// The limit of file systems, extension included.
const MOST_BYTES = 255
const MOST_LEVELS = 64

// Control characters, half surrogate pairs and line separators break lists, links and terminals.
const BROKEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u
// Characters that Obsidian refuses in names, because some systems or links read them differently.
const UNLINKABLE = /[\\/:*?"<>|#^[\]]/

// Some scripts need joiners between letters; elsewhere they are invisible.
const JOINER =
  /(?<=(?!\p{Script=Latin}|\p{Script=Greek}|\p{Script=Cyrillic})[\p{L}\p{M}])[\u200C\u200D](?=(?!\p{Script=Latin}|\p{Script=Greek}|\p{Script=Cyrillic})\p{L})/gu

/** Titles of new notes; a pattern, so that the input schema states it. */
export const TITLE = /^[^\\/:*?"<>|#^[\]\p{Cc}\p{Cs}\p{Zl}\p{Zp}.][^\\/:*?"<>|#^[\]\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u

/** Whether a name has no invisible characters: two names that look alike would be two notes. */
export function isVisible(name: string): boolean {
  const plain = name.replace(JOINER, '').replace(/\p{Zs}/gu, ' ')
  return showHidden(plain) === plain
}

/** Whether this title can be the name of a file and stand in links. */
export function isSafeTitle(title: string): boolean {
  return !UNLINKABLE.test(title) && isVisible(title) && isSafeName(`${title}.md`) && !/[. ]$/.test(title)
}

export function isSafeNote(path: string): boolean {
  const names = withEnding(path).split('/')
  const isSafe = (name: string) => isSafeName(name) && isVisible(name) && !UNLINKABLE.test(name)
  return names.length <= MOST_LEVELS && names.every(isSafe)
}

export function isSafeFolder(path: string): boolean {
  return path === '.' || isSafeNote(`${path.replace(/\/$/, '')}/note`)
}

/** The path in the vault for a name, a path or a link. Throws a `Refusal` when no note can have it. */
export function toNotePath(requested: string): string {
  const bare = withoutLink(requested.trim())
  const path = withEnding(bare)
  if (path.startsWith('/') || bare === '') throw unusable(requested, 'give a path from the vault on')
  const names = path.split('/')
  if (names.some(name => name === '.' || name === '..' || name === ''))
    throw unusable(requested, 'a path has names only, joined by "/"')
  if (names.some(name => name.startsWith('.'))) throw unusable(requested, 'hidden files and folders are not for notes')
  if (names.length > MOST_LEVELS || names.some(name => !isSafeName(name) || name.includes('\\')))
    throw unusable(requested, 'a name in it is too long, or has characters that no note has')
  return path
}

/** `Tasks/Buy milk.md` → `Tasks/Buy milk`, as links have it. */
export function withoutEnding(path: string): string {
  return path.replace(/\.md$/i, '')
}

/** The last name of a path, without the ending. */
export function baseName(path: string): string {
  return withoutEnding(path.slice(path.lastIndexOf('/') + 1))
}

function isSafeName(name: string): boolean {
  const bytes = Buffer.byteLength(name)
  return bytes > 0 && bytes <= MOST_BYTES && !name.startsWith('.') && !BROKEN.test(name)
}

/** `[[Tasks/Buy milk#Why|milk]]` → `Tasks/Buy milk`. */
function withoutLink(text: string): string {
  if (!text.startsWith('[[') || !text.endsWith(']]')) return text
  return (text.slice(2, -2).split(/[|#]/, 1)[0] ?? '').trim()
}

function withEnding(path: string): string {
  return /\.md$/i.test(path) ? path : `${path}.md`
}

function unusable(requested: string, why: string): Refusal {
  return new Refusal(`"${requested}" is no note: ${why}. Find notes with note_search.`)
}
