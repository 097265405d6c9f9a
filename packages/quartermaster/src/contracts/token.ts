import { z } from 'zod'

/** A token as lists show it; its text is shown once, when it is made. */
export const TokenFacts = z.object({
  id: z.string(),
  /** The agent it stands for; absent when it is a person's. */
  agent: z.string().optional(),
  /** The person it stands for; absent when it is an agent's. */
  person: z.string().optional(),
  label: z.string().nullable(),
  state: z.enum(['active', 'expired', 'revoked']),
  createdAt: z.number(),
  expiresAt: z.number().nullable(),
  revokedAt: z.number().nullable(),
  /** The token that takes its place. */
  replacedBy: z.string().nullable(),
  /** Whether there is no such agent now, so that it lets nobody in until there is one again; absent when there is. */
  agentMissing: z.boolean().optional(),
  /** What it may be used for; absent when that is everything its holder may do. */
  scopes: z.array(z.string()).optional(),
})
export type TokenFacts = z.infer<typeof TokenFacts>

/** A token that was just made: the only time its text is seen. */
export const IssuedToken = z.object({ token: z.string(), facts: TokenFacts })
export type IssuedToken = z.infer<typeof IssuedToken>

/** What it takes to hand in files on behalf of an agent, from beside it. */
export const LentFiles = z.object({
  /** The agent's folder; nothing outside of it is handed in. */
  workspaceDir: z.string(),
  /** The largest file. */
  maxBytes: z.number(),
  /** Which inputs of which tools name files. */
  inputs: z.array(z.object({ tool: z.string(), input: z.string() })),
})
export type LentFiles = z.infer<typeof LentFiles>

/** A token for one run: never stored, and over when its time is or its process ends. */
export const LentToken = z.object({
  id: z.string(),
  token: z.string(),
  expiresAt: z.number(),
  /** Whoever borrows it has a clock of its own. */
  goodForMs: z.number(),
  /** Absent when an older server answers. */
  files: LentFiles.optional(),
})
export type LentToken = z.infer<typeof LentToken>
