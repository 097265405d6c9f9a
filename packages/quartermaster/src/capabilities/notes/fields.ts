import { z } from 'zod'

/** A day, as tasks have them. */
export const Day = z.iso.date()

/** A tag without its "#": letters, digits, "_", "-" and "/", and not digits alone. */
export const Tag = z
  .string()
  .max(100)
  .regex(/^(?=.*[^\d])[\p{L}\p{N}_/-]+$/u, 'must be a tag without "#", such as "home" or "work/mail"')

/** The day it is where the gateway runs. */
export function dayOf(now: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`
}
