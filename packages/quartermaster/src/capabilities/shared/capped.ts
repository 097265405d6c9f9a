import { AppError } from '../../contracts/index.ts'

export interface Cap {
  /** The input's name. */
  readonly name: string
  readonly most: number
  /** What the cap is, as in "the most that one answer has". */
  readonly why: string
}

/** What is meant by a number that has a cap: above it the cap, and `said` tells so; below 1 it means nothing. */
export function capped(wanted: number, { name, most, why }: Cap): { value: number; said: string | undefined } {
  if (!(wanted >= 1)) throw new AppError('INPUT_INVALID', `"${name}" must be at least 1, not ${wanted}.`)
  if (wanted <= most) return { value: wanted, said: undefined }
  return { value: most, said: `"${name}" was lowered from ${wanted} to ${most}, ${why}.` }
}
