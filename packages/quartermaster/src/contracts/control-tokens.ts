import { z } from 'zod'
import { type ControlTable, organisation } from './control-table.ts'
import { PersonName } from './names.ts'
import { IssuedToken, LentToken, TokenFacts } from './token.ts'

/** Tokens of agents and persons. */
export const TOKEN_CONTROL = {
  createToken: {
    input: z
      .strictObject({
        agent: z.string().optional(),
        /** Whose it is instead: it answers for this person, and calls no tools. */
        person: PersonName.optional(),
        organisation,
        /** What a person calls it. */
        label: z.string().min(1).max(200).optional(),
        /** How long it is good; for ever when absent. */
        ttlMs: z.number().int().positive().optional(),
      })
      .refine(({ agent, person }) => (agent === undefined) !== (person === undefined), {
        error: 'say whose it is: agent or person, one of them',
      }),
    output: IssuedToken,
  },
  tokens: { input: z.strictObject({ organisation, agent: z.string().optional() }), output: z.array(TokenFacts) },
  revokeToken: { input: z.strictObject({ id: z.string() }), output: TokenFacts },
  rotateToken: {
    /** For the overlap both are good. */
    input: z.strictObject({ id: z.string(), overlapMs: z.number().int().nonnegative() }),
    output: IssuedToken,
  },
  /** A token for one run, which only a running `up` can lend: it lives in that process. */
  lendToken: { input: z.strictObject({ agent: z.string(), organisation }), output: LentToken },
  /** Keeps a lent token for another while. */
  extendToken: { input: z.strictObject({ id: z.string() }), output: z.object({ expiresAt: z.number() }) },
} as const satisfies ControlTable
