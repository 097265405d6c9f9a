import { z } from 'zod'

/** A day, as tasks have them. */
export const Day = z.iso.date()

/** A tag without its "#": letters, digits, "_", "-" and "/", and not digits alone. */
export const Tag = z
  .string()
  .max(100)
  .regex(/^(?=.*[^\d])[\p{L}\p{N}_/-]+$/u, 'must be a tag without "#", such as "home" or "work/mail"')

/** How an agent says which note it means. */
export const NoteReference = z
  .string()
  .min(1)
  .max(1024)
  .describe('The note: its path in the vault, its name alone, or a link to it.')

/** How an agent says which task it means. */
export const TaskReference = z.string().min(1).max(1024).describe('The title of the task, or the note it links to.')

/** What is written into a note. */
export const NoteText = z
  .string()
  .max(200_000)
  .regex(/^[^\p{Cs}]*$/u, 'has half a surrogate pair, which is no text')

/** The day it is where the gateway runs. */
export function dayOf(now: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`
}
