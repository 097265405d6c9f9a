/** A note as it was read. */
export interface Kept {
  /** All of it, also a mark of byte order at the beginning. */
  readonly text: string
  /** What the store calls this very state of it, if it has a word for that. */
  readonly tag?: string | undefined
}

export interface NoteWrite {
  readonly text: string
  /** What was there when the new text was made of it; absent when nothing was. */
  readonly seen: Kept | undefined
}

/** A place where notes are kept. */
export interface NoteStore {
  /** Nothing when there is no such note. */
  read(path: string): Promise<Kept | undefined>
  /** Writes all of a note in one step. Throws `Changed` when what is there is not what was seen. */
  write(path: string, write: NoteWrite): Promise<void>
}

/** Somebody else wrote the note since it was read. */
export class Changed extends Error {}

/** The largest note that is read. */
export const MOST_READ_BYTES = 8 * 1024 * 1024
/** The largest note that is written: a longer one is no note but data, and every reader of the vault gets slow with it. */
export const MOST_WRITTEN_BYTES = 1024 * 1024
