import type { Source } from '../../core/catalogue/index.ts'
import { createListeners } from './listeners.ts'
import type { Upstream } from './upstream.ts'

/** What upstreams bring, as a source of definitions. */
export interface UpstreamSource {
  readonly source: Source
  /** A reload would find something new. */
  changed(): void
}

export interface UpstreamSourceDeps {
  /** Resolves when what was configured is mounted. */
  ready(): Promise<void>
  /** Those that are mounted, by name. */
  upstreams(): readonly Upstream[]
}

export function createUpstreamSource({ ready, upstreams }: UpstreamSourceDeps): UpstreamSource {
  const listeners = createListeners()
  let version = 0
  let loaded = 0
  return {
    source: {
      id: 'upstreams',
      kind: 'upstream',
      async load() {
        await ready()
        loaded = version
        return upstreams()
          .toSorted(longestKnown)
          .map(upstream => upstream.unit())
      },
      onChange(listener) {
        // What has changed since nobody was there to be told.
        if (loaded !== version) void Promise.resolve().then(listener)
        return listeners.add(listener)
      },
    },
    changed() {
      version++
      listeners.tell()
    },
  }
}

/** Those that came together stay in their order. Who has a name is another matter: that goes by the names themselves. */
const longestKnown = (a: Upstream, b: Upstream) => a.knownSince() - b.knownSince()
