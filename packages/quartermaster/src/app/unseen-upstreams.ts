import type { AgentPrompt, StatusReport } from '../contracts/index.ts'
import { sentence, withoutLoginStep } from '../core/kernel/index.ts'
import type { Runtime } from './runtime.ts'

type Unseen = NonNullable<StatusReport['unseen']>

/** The upstreams of which nobody has seen yet what they have, with why and what to do. */
export function unseenUpstreams({ upstreams }: { upstreams: Pick<Runtime['upstreams'], 'statuses'> }): Unseen {
  return upstreams
    .statuses()
    .flatMap(({ name, reason, unseen: fix }) =>
      fix === undefined ? [] : [{ name, reason: withoutLoginStep(reason, name), fix }],
    )
}

/** A prompt as its owner reads it: agents cannot do anything about a server, so to them no step is told. */
export function withSteps(made: AgentPrompt, unseen: Unseen): AgentPrompt {
  if (!made.unseen) return made
  const byName = new Map(unseen.map(one => [one.name, one]))
  const told = made.unseen.map(one => {
    const known = byName.get(one.capability)
    return known ? { ...one, reason: `${sentence(known.reason)} ${known.fix}` } : one
  })
  return { ...made, unseen: told }
}
