import { z } from 'zod'

const isWhole = [Number.isInteger, { error: 'must be a whole number' }] as const

/** A whole number, however large: what is lowered to a cap need not be one that JavaScript knows exactly. */
export const wholeNumber = () =>
  z
    .number()
    .refine(...isWhole)
    .meta({ type: 'integer' })

interface Cap {
  readonly least?: number
  readonly most: number
}

/** A whole number that is lowered to its cap. */
export const cappedWhole = ({ least = 1, most }: Cap) => wholeNumber().min(least).overwrite(lowerTo(most))

/** The same in a query. Whoever asks for too much gets as much as one answer has. */
export const cappedWholeText = ({ least = 1, most }: Cap) =>
  z.coerce
    .number()
    .refine(...isWhole)
    .min(least)
    .overwrite(lowerTo(most))
    .meta({ type: 'integer' })

/** Seconds to wait, in a query. Whoever wants to wait for longer asks again. */
export const waitSecondsText = ({ most }: Pick<Cap, 'most'>) => z.coerce.number().min(0).overwrite(lowerTo(most))

function lowerTo(most: number): (wanted: number) => number {
  return wanted => Math.min(wanted, most)
}
