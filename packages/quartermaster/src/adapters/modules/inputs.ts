import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createLimit } from '../../core/kernel/index.ts'

/** A file as it was when it was read. One that was not there is an input too: its appearance is a change. */
export interface Input {
  readonly path: string
  /** Size, times and inode of the file; `undefined` when it is missing. */
  readonly stamp: string | undefined
  readonly hash: string | undefined
  /** Whether it was changed so shortly before that another change may have left the same stamp. */
  readonly racy: boolean
}

/** Looks at files, at each at most once. One belongs to one load. */
export interface Files {
  look(path: string): Promise<Stamp | undefined>
  /** How a file is, also when it is not there. */
  read(path: string): Promise<Input>
  /** A file with its text; rejects when it cannot be read. */
  open(path: string): Promise<OpenedFile>
}

interface OpenedFile {
  readonly input: Input
  readonly contents: string
}

interface Stamp {
  readonly text: string
  readonly changedAt: number
}

// The coarsest clock of a file system in use (FAT) ticks every two seconds. Git guards its index in the same way.
const RACY_MS = 2_000

/** More at a time is not faster, and a large folder would use up the file handles. */
const OPEN_FILES = 16

export function createFiles(): Files {
  const stamps = new Map<string, Promise<Stamp | undefined>>()
  const opened = new Map<string, Promise<OpenedFile>>()
  const limit = createLimit(OPEN_FILES)
  const open = (path: string) => once(opened, path, () => limit(() => openFile(path)))
  return {
    look: path => once(stamps, path, () => takeStamp(path).catch(() => undefined)),
    read: path =>
      open(path).then(
        ({ input }) => input,
        () => toInput(path, undefined, undefined, 0),
      ),
    open,
  }
}

/** The inputs as they are now when their contents are still the same; `undefined` when one is not. */
export async function refreshInputs(inputs: readonly Input[], files: Files): Promise<readonly Input[] | undefined> {
  const fresh = await Promise.all(inputs.map(input => refresh(input, files)))
  return fresh.every(input => input !== undefined) ? fresh : undefined
}

export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

async function refresh(input: Input, files: Files): Promise<Input | undefined> {
  const stamp = await files.look(input.path)
  if (stamp?.text === input.stamp && !input.racy) return input
  const now = await files.read(input.path)
  return now.hash === input.hash ? now : undefined
}

/** Reads a file and remembers how it was. The stamp is taken first: a change while reading shows up at the next look. */
async function openFile(path: string): Promise<OpenedFile> {
  const takenAt = Date.now()
  const stamp = await takeStamp(path)
  const contents = await readFile(path, 'utf8')
  return { input: toInput(path, stamp, hashText(contents), takenAt), contents }
}

async function takeStamp(path: string): Promise<Stamp> {
  const { size, mtimeNs, ctimeNs, ino } = await stat(path, { bigint: true })
  const changed = mtimeNs > ctimeNs ? mtimeNs : ctimeNs
  return { text: `${size}:${mtimeNs}:${ctimeNs}:${ino}`, changedAt: Number(changed / 1_000_000n) }
}

function toInput(path: string, stamp: Stamp | undefined, hash: string | undefined, takenAt: number): Input {
  return { path, stamp: stamp?.text, hash, racy: stamp !== undefined && takenAt - stamp.changedAt < RACY_MS }
}

function once<T>(memo: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const made = memo.get(key) ?? make()
  memo.set(key, made)
  return made
}
