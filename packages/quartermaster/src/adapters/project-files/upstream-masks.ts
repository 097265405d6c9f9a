import type { UpstreamConfig } from '../../contracts/index.ts'

/** Collects the texts of upstreams that no log may show. */
export interface MaskList {
  /** Begins with one entry. */
  begin(): {
    readonly onValue: (value: string, kind: 'env' | 'secret') => void
    /** The entry is good: what it holds is to be masked. */
    keep(config: UpstreamConfig): UpstreamConfig
  }
  texts(): string[]
}

/** Shorter ones stand in every other line, and masking them would leave nothing to read. */
const SHORTEST_SECRET = 4
const SHORTEST_OTHER = 8

export function createMaskList(): MaskList {
  const texts = new Set<string>()
  const add = (text: string) => {
    // A credential is logged with its scheme or without.
    for (const one of [text, ...text.split(/\s+/)]) if (isTelling(one)) texts.add(one)
  }
  return {
    begin() {
      const referred: [string, 'env' | 'secret'][] = []
      return {
        onValue: (value, kind) => void referred.push([value, kind]),
        keep(config) {
          for (const [value, kind] of referred) {
            if (kind === 'secret' && value.length >= SHORTEST_SECRET) texts.add(value)
            else if (kind === 'env') add(value)
          }
          credentialsOf(config).forEach(add)
          return config
        },
      }
    },
    texts: () => [...texts],
  }
}

function credentialsOf(config: UpstreamConfig): string[] {
  const own = 'url' in config ? config.headers : config.env
  const oauth = 'url' in config ? config.oauth?.clientSecret : undefined
  const ofAgents = Object.values(config.agents).flatMap(({ env = {}, headers = {} }) => [env, headers])
  return [...[own, ...ofAgents].flatMap(texts => Object.values(texts)), ...(oauth === undefined ? [] : [oauth])]
}

/** Folders, plain addresses and plain words are what logs are made of, and tell nothing. */
function isTelling(text: string): boolean {
  if (text.length < SHORTEST_OTHER) return false
  return !/^(?:~|\.{0,2}\/|[A-Za-z]:\\)/.test(text) && !/^https?:\/\/[^\s@?]*$/.test(text) && !/^[a-z]+$/i.test(text)
}
