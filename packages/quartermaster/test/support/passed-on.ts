import { membersOf } from './json-slices.ts'

export type FrontEra = 'legacy' | 'modern'

/** What the gateway says besides in `_meta`: its operation, and who it is, as every server does since 2026-07-28. */
const ADDED_META = /^(quartermaster\/|io\.modelcontextprotocol\/serverInfo$)/

/** What every result has since 2026-07-28, for which the server behind has no words. */
const ADDED_SINCE = new Set(['resultType', 'ttlMs', 'cacheScope'])

/** The members of a result in their order, each as it is spelled. */
export type Spelled = readonly (readonly [key: string, value: string])[]

/** What a result says that came without a gateway. */
export const spelled = (result: string): Spelled => [...membersOf(result)]

/** What a result says that came through the gateway, without what the gateway adds. */
export function withoutAdditions(result: string, era: FrontEra): Spelled {
  return spelled(result).flatMap(([key, value]) => {
    if (key === '_meta') return metaOf(value)
    return era === 'modern' && ADDED_SINCE.has(key) ? [] : [[key, value] as const]
  })
}

function metaOf(value: string): Spelled {
  const left = spelled(value).filter(([key]) => !ADDED_META.test(key))
  const members = left.map(([key, said]) => `${JSON.stringify(key)}:${said}`)
  return left.length > 0 ? [['_meta', `{${members}}`]] : []
}
