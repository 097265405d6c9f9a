import { z } from 'zod'
import { CapabilityConfig } from './agent.ts'
import { type ControlTable, nothing, Problem } from './primitives.ts'
import { LoginFacts, PinKind, ReviewItem, UpstreamConsent, UpstreamLogLine, UpstreamStatus } from './upstream.ts'

/** A secret that stays in the secrets file, and the files that refer to it. */
const KeptSecret = z.object({
  name: z.string(),
  usedBy: z.array(z.string()),
  /** Dropped settings (`goneSettings`) that referred to it. It stays in any case. */
  wasFor: z.array(z.string()).optional(),
})

/** The result of adding an upstream. */
export const AddedUpstream = z.object({
  name: z.string(),
  /** The configuration file. */
  file: z.string(),
  /** The configuration file was created, because there was none in this folder or above. */
  madeFile: z.literal(true).optional(),
  /** The secrets file; absent when it has no secrets. */
  secretsFile: z.string().optional(),
  /** `unchanged`: there already, whatever other settings its entry has. */
  outcome: z.enum(['added', 'replaced', 'unchanged']),
  /** The written entry, with references in place of secrets; only for a dry run. */
  entry: z.record(z.string(), z.unknown()).optional(),
  /** With more tools than this an agent gets the gateway view, unless its file says otherwise; only for a dry run. */
  gatewayViewOver: z.int().optional(),
  /**
   * Its status after the first moments; absent when its entry cannot be used yet, and for a dry run unless it would not start.
   */
  status: UpstreamStatus.optional(),
  /** Agents that it was granted to. */
  granted: z.array(z.string()),
  /** Other agents that have it, because they had what it replaced, or it was there already. */
  alsoHave: z.array(z.string()).optional(),
  /** The first agent of the folder, created because there was none. It may also read the folder. */
  madeAgent: z.string().optional(),
  /** Names of its secrets. */
  secrets: z.array(z.string()),
  /** The final name of each secret without a value, by the requested name. */
  missing: z.record(z.string(), z.string()).optional(),
  /** Secrets of the replaced entry that were deleted, because nothing refers to them now. */
  removedSecrets: z.array(z.string()).optional(),
  /** Other secrets of the replaced entry, with the files that refer to them. */
  keptSecrets: z.array(KeptSecret).optional(),
  /** The consent choice that was written, because the entry had none. */
  consent: UpstreamConsent.optional(),
  /** The owner's settings that stay from the replaced entry. */
  keptSettings: z.array(z.string()).optional(),
  /** The owner's settings that were dropped, because the new transport has no such setting. */
  goneSettings: z.array(z.string()).optional(),
  /** Packages that keep the version written here, because none was given: by name, as they are written. */
  keptVersions: z.record(z.string(), z.string()).optional(),
  /** What keeps it from being used, such as a missing secret, and other problems. */
  problems: z.array(Problem),
})
export type AddedUpstream = z.infer<typeof AddedUpstream>

/** The result of removing an upstream. */
export const RemovedUpstream = z.object({
  file: z.string(),
  /** Agents that had it. */
  revokedFrom: z.array(z.string()),
  /** What each agent's file said about it, with references as they are, so that it can be restored. */
  taken: z.record(z.string(), CapabilityConfig),
  /** Agents whose files could not be changed and may refer to it. They have no tools until that is removed. */
  stillNamedBy: z.array(z.string()),
  /** Why not. */
  problems: z.array(Problem),
  /** Secrets that were deleted, because nothing else refers to them. */
  removedSecrets: z.array(z.string()),
  /** Its secrets that stay, with the files that refer to them; none where all were to be kept. */
  keptSecrets: z.array(KeptSecret),
  /** There was no entry; these pins and logins were deleted from the store. */
  forgotten: z.object({ pins: z.number().int(), logins: z.number().int() }).optional(),
})
export type RemovedUpstream = z.infer<typeof RemovedUpstream>

const WISH = {
  name: z.string(),
  /** The entry as it is to be written, with references as they are. */
  entry: z.record(z.string(), z.unknown()),
  /** To add to the secrets file. A name in use is changed, and the entry's references follow. */
  secrets: z.record(z.string(), z.string()).optional(),
  /** Secrets that the entry refers to and that have no value yet. They get unused names. */
  missing: z.array(z.string()).max(1_000).optional(),
}

/** An upstream to be added. */
const WishedUpstream = z.strictObject(WISH)
export type WishedUpstream = z.infer<typeof WishedUpstream>

/** Control operations for upstreams, their review and logins. */
export const UPSTREAM_CONTROL = {
  upstreams: { input: nothing, output: z.array(UpstreamStatus) },
  /** The log of a server, oldest first. */
  upstreamLogs: {
    input: z.strictObject({ name: z.string(), limit: z.number().int().min(1).max(10_000).optional() }),
    output: z.array(UpstreamLogLine),
  },
  restartUpstream: { input: z.strictObject({ name: z.string() }), output: UpstreamStatus },
  /** Definitions that wait for a person. */
  reviewItems: {
    input: z.strictObject({
      name: z.string().optional(),
      /** With whole definitions; differences show only a part. */
      whole: z.literal(true).optional(),
      /** With offered definitions, which can be rejected. */
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
      /** The agents that get it; `default` when absent, which is created if there is no agent. */
      grant: z.union([z.array(z.string()), z.literal(false)]).optional(),
      /** Replaces another upstream of that name. */
      replace: z.boolean().optional(),
      /** Which of its tools ask a person first, unless its entry or the replaced one says so. */
      consent: UpstreamConsent.optional(),
      /** Waits some seconds until the server has listed its definitions; true when absent. */
      wait: z.boolean().optional(),
      /** Writes and starts nothing, and answers what would happen after these other additions. */
      dryRun: z.strictObject({ beside: z.array(WishedUpstream).max(10_000) }).optional(),
    }),
    output: AddedUpstream,
  },
  /** Writes the consent choice into these entries. */
  setUpstreamConsent: {
    input: z.strictObject({ names: z.array(z.string()).min(1).max(10_000), consent: UpstreamConsent }),
    output: z.array(UpstreamStatus),
  },
  removeUpstream: {
    input: z.strictObject({
      name: z.string(),
      /** Keeps its secrets; otherwise those that nothing else refers to are deleted. */
      keepSecrets: z.boolean().optional(),
    }),
    output: RemovedUpstream,
  },
  /** Starts a login. The attempt waits ten minutes for the person. */
  beginLogin: {
    input: z.strictObject({ upstream: z.string(), agent: z.string().optional() }),
    output: z.object({ attempt: z.string(), url: z.string() }),
  },
  /** Waits for the person, or takes the address that their browser ended at. Cancelling ends the attempt. */
  finishLogin: {
    input: z.strictObject({ attempt: z.string(), redirectUrl: z.string().max(16_384).optional() }),
    output: LoginFacts,
  },
  logout: {
    input: z.strictObject({ upstream: z.string(), agent: z.string().optional() }),
    output: z.object({ wasSignedIn: z.boolean() }),
  },
} as const satisfies ControlTable
