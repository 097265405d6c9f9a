import { z } from 'zod'
import { Name } from './names.ts'

export const DependencyState = z.enum(['up', 'recovering', 'down', 'unknown', 'optedOut'])
export type DependencyState = z.infer<typeof DependencyState>

/** What is known about a dependency now. */
export const DependencyStatus = z.object({
  name: Name,
  state: DependencyState,
  reason: z.string(),
  /** Since when it is in this state, as epoch milliseconds. */
  since: z.number(),
  /** When it was last probed; absent when it never was. */
  checkedAt: z.number().optional(),
  /** How long that probe took. */
  durationMs: z.number().optional(),
  /** It is down and answers again, and counts as up once it has done so for long enough. */
  isProving: z.literal(true).optional(),
  dependsOn: z.array(Name),
  /** What to do when it is down, in its author's words. */
  fix: z.string().optional(),
})
export type DependencyStatus = z.infer<typeof DependencyStatus>

/** One reason why a tool is disabled. */
export const MissingDependency = z.object({
  dependency: Name,
  state: DependencyState,
  reason: z.string(),
  /** For how long it has been so. */
  ageMs: z.number(),
  /** When a recheck may probe it next, as epoch milliseconds; absent when never (switched off). */
  nextRecheckAt: z.number().optional(),
  fix: z.string().optional(),
})
export type MissingDependency = z.infer<typeof MissingDependency>

export const RecheckAnswer = z.object({
  /** Whether everything the named thing needs is there now. */
  active: z.boolean(),
  missing: z.array(MissingDependency),
  /** The dependencies that were probed for this answer. */
  probed: z.array(Name),
  /** When a recheck may probe again; absent when nothing is missing or nothing may ever be probed. */
  nextRecheckAt: z.number().optional(),
})
export type RecheckAnswer = z.infer<typeof RecheckAnswer>

/** What the configuration may say about a dependency. */
export const DependencyOptions = z.strictObject({
  /** `false`: switched off by a person; never probed, its tools stay disabled. */
  enabled: z.boolean().optional(),
  probeTimeoutMs: z.number().int().min(10).max(60_000).optional(),
  recoveringSeconds: z.number().min(0).max(600).optional(),
  watchIntervalSeconds: z.number().min(1).max(86_400).optional(),
})
export type DependencyOptions = z.infer<typeof DependencyOptions>
