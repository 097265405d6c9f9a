import { z } from 'zod'
import { CapabilityConfig } from './agent.ts'
import { Problem } from './errors.ts'
import { type ControlTable, nothing } from './primitives.ts'
import { LoginFacts, PinKind, ReviewItem, UpstreamConsent, UpstreamLogLine, UpstreamStatus } from './upstream.ts'

/** A secret that stays in the secrets file, and the files that name it. */
const KeptSecret = z.object({
  name: z.string(),
  usedBy: z.array(z.string()),
  /** The settings that referred to it and are among those that went (`goneSettings`). It stays whatever names it. */
  wasFor: z.array(z.string()).optional(),
})

/** What became of an upstream that was to be added. */
export const AddedUpstream = z.object({
  name: z.string(),
  /** Where it stands. */
  file: z.string(),
  /** There was no configuration file in this folder or above, and it was made. */
  madeFile: z.literal(true).optional(),
  /** The file that its secrets are kept in; absent when it has none. */
  secretsFile: z.string().optional(),
  /** `unchanged`: it stood there already, whatever else its owner says of it. */
  outcome: z.enum(['added', 'replaced', 'unchanged']),
  /** Its entry as it is written, with references in place of its secrets; only of a look ahead. */
  entry: z.record(z.string(), z.unknown()).optional(),
  /** With more tools than this an agent sees the gateway view, unless its file says otherwise; only of a look ahead. */
  gatewayViewOver: z.int().optional(),
  /** How it is after its first moments; absent when its entry cannot be used yet, and of a look ahead unless it would not run. */
  status: UpstreamStatus.optional(),
  /** The agents that were given it. */
  granted: z.array(z.string()),
  /** Other agents that have it all the same, because they had what it replaced, or it was there already. */
  alsoHave: z.array(z.string()).optional(),
  /** The first agent of the folder, made because there was none to give it to. It may read the folder too. */
  madeAgent: z.string().optional(),
  /** The names under which its secrets are kept. */
  secrets: z.array(z.string()),
  /** The current name of each secret that has no value yet, by the name that was asked for. */
  missing: z.record(z.string(), z.string()).optional(),
  /** The secrets of the one it replaced that nothing names any more, and that are gone from the secrets file. */
  removedSecrets: z.array(z.string()).optional(),
  /** The other secrets of the one it replaced, and the files that name them. */
  keptSecrets: z.array(KeptSecret).optional(),
  /** Which of its tools ask a person first, where that was written into its entry because nothing was said of it. */
  consent: UpstreamConsent.optional(),
  /** What the owner says in the entry that it replaced, and that stays. */
  keptSettings: z.array(z.string()).optional(),
  /** What went of that, because what is reached in the new way has none such. */
  goneSettings: z.array(z.string()).optional(),
  /** Packages that stay in the version they have here, because none was named: by their names, as they are written. */
  keptVersions: z.record(z.string(), z.string()).optional(),
  /** What keeps it from being used, such as a secret that is not there yet, and what to know before it is. */
  problems: z.array(Problem),
})
export type AddedUpstream = z.infer<typeof AddedUpstream>

/** What became of an upstream that was to be removed. */
export const RemovedUpstream = z.object({
  file: z.string(),
  /** The agents that had it. */
  revokedFrom: z.array(z.string()),
  /** What each of them had of it, by agent and as it stood in the file, references as they are: it can be put back by this. */
  taken: z.record(z.string(), CapabilityConfig),
  /** The agents whose files could not be changed, and name it or may do so. They have no tools until that is taken out. */
  stillNamedBy: z.array(z.string()),
  /** Why they could not be. */
  problems: z.array(Problem),
  /** The secrets that nothing else names, and that are gone from the secrets file. */
  removedSecrets: z.array(z.string()),
  /** The secrets it referred to that stay, and the files that name them; none where they were to be kept. */
  keptSecrets: z.array(KeptSecret),
  /** There was no entry of it, and this is what the store still had: how many pins, and how many logins. It is gone. */
  forgotten: z.object({ pins: z.number().int(), logins: z.number().int() }).optional(),
})
export type RemovedUpstream = z.infer<typeof RemovedUpstream>

/** What an upstream is made from. */
const WISH = {
  name: z.string(),
  /** As it is to stand in the file, references as they are. */
  entry: z.record(z.string(), z.unknown()),
  /** To be added to the secrets file; where a name is taken, or named by something else, the entry's references follow. */
  secrets: z.record(z.string(), z.string()).optional(),
  /** Secrets that the entry refers to and that have no value yet. They get unused names. */
  missing: z.array(z.string()).max(1_000).optional(),
}

/** An upstream to be added. */
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
      /** With the hash of what the person saw, so that a decision is never about another text. */
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
