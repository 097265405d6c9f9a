import { z } from 'zod'
import { AddedUpstream, RemovedUpstream } from './control-report.ts'
import { type ControlTable, nothing } from './control-table.ts'
import { LoginFacts, PinKind, ReviewItem, UpstreamConsent, UpstreamLogLine, UpstreamStatus } from './upstream.ts'

/** What an upstream is made from. */
const WISH = {
  name: z.string(),
  /** As it is to stand in the file, references as they are. */
  entry: z.record(z.string(), z.unknown()),
  /** To be added to the secrets file; where a name is taken, or named by something else, the entry's references follow. */
  secrets: z.record(z.string(), z.string()).optional(),
  /** Secrets that the entry refers to and nobody gave yet. They get names that nothing has. */
  missing: z.array(z.string()).max(1_000).optional(),
}

/** An upstream that somebody would have. */
const WishedUpstream = z.strictObject(WISH)
export type WishedUpstream = z.infer<typeof WishedUpstream>

/** Upstreams, what of them waits for a person, and signing in to them. */
export const UPSTREAM_CONTROL = {
  upstreams: { input: nothing, output: z.array(UpstreamStatus) },
  /** What a server said about itself and what was said about it, oldest first. */
  upstreamLogs: {
    input: z.strictObject({ name: z.string(), limit: z.number().int().min(1).max(10_000).optional() }),
    output: z.array(UpstreamLogLine),
  },
  restartUpstream: { input: z.strictObject({ name: z.string() }), output: UpstreamStatus },
  /** What of the upstreams waits for a person. */
  reviewItems: {
    input: z.strictObject({
      name: z.string().optional(),
      /** With the definitions themselves, of which differences show only so much. */
      whole: z.literal(true).optional(),
      /** Beside that what is offered and can be rejected. */
      offered: z.literal(true).optional(),
    }),
    output: z.array(ReviewItem),
  },
  decideReview: {
    input: z.strictObject({
      upstream: z.string(),
      /** With the hash of what was looked at: a decision is never about a text that nobody saw. */
      items: z
        .array(z.strictObject({ kind: PinKind, name: z.string(), hash: z.string().min(1) }))
        .min(1)
        .max(10_000),
      decision: z.enum(['accept', 'reject']),
    }),
    output: z.array(ReviewItem),
  },
  /** Writes an entry of `mcpServers`. A server that does not work is added all the same, and the answer says why. */
  addUpstream: {
    input: z.strictObject({
      ...WISH,
      /** The agents that get it; `default` when absent, which is made where there is no agent at all. */
      grant: z.union([z.array(z.string()), z.literal(false)]).optional(),
      /** Takes the place of another one of that name. */
      replace: z.boolean().optional(),
      /** Which of its tools ask a person first, where neither its entry nor the one before says so. */
      consent: UpstreamConsent.optional(),
      /** Whether the answer waits, for some seconds, until the server has said what it has; it does when absent. */
      wait: z.boolean().optional(),
      /** Only says what would become of it, after these others that would be there by then. Nothing is written or started. */
      dryRun: z.strictObject({ beside: z.array(WishedUpstream).max(10_000) }).optional(),
    }),
    output: AddedUpstream,
  },
  /** Says in their entries which of their tools ask a person first. */
  setUpstreamConsent: {
    input: z.strictObject({ names: z.array(z.string()).min(1).max(10_000), consent: UpstreamConsent }),
    output: z.array(UpstreamStatus),
  },
  removeUpstream: {
    input: z.strictObject({
      name: z.string(),
      /** Leaves its secrets where they are; those that nothing else names go when absent. */
      keepSecrets: z.boolean().optional(),
    }),
    output: RemovedUpstream,
  },
  /** Finds out where a person signs in. The attempt waits ten minutes for them to come back. */
  beginLogin: {
    input: z.strictObject({ upstream: z.string(), agent: z.string().optional() }),
    output: z.object({ attempt: z.string(), url: z.string() }),
  },
  /** Waits for the person, or takes the address that their browser ended at. Giving up the wait gives up the attempt. */
  finishLogin: {
    input: z.strictObject({ attempt: z.string(), redirectUrl: z.string().max(16_384).optional() }),
    output: LoginFacts,
  },
  logout: {
    input: z.strictObject({ upstream: z.string(), agent: z.string().optional() }),
    output: z.object({ wasSignedIn: z.boolean() }),
  },
} as const satisfies ControlTable
