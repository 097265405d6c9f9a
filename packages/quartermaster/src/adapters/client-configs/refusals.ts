import { basename, join, resolve } from 'node:path'
import { type Refusal, serversIn, type WrittenServer } from './foreign-file.ts'
import type { ClientPlace, ClientSurroundings } from './places.ts'
import { readBounded } from './read-bounded.ts'

/** Settings by hand; a larger file was meant for something else. */
const MAX_BYTES = 1024 * 1024

/** What the settings of Claude Code refuse, where its servers are looked for. What cannot be read there refuses nothing. */
export async function refusedInSettings(
  looked: readonly { readonly place: ClientPlace }[],
  { home, dir }: ClientSurroundings,
): Promise<Refusal[]> {
  if (!looked.some(({ place }) => place.client === 'claude-code')) return []
  const files = [
    join(dir, '.claude', 'settings.json'),
    join(dir, '.claude', 'settings.local.json'),
    join(home, '.claude', 'settings.json'),
  ]
  const reads = await Promise.all(files.map(file => readBounded(file, MAX_BYTES)))
  return reads.flatMap(read => {
    const parsed = 'text' in read ? serversIn(read.text) : undefined
    return parsed && 'refusals' in parsed ? parsed.refusals : []
  })
}

/** Whether a person has refused a server where it would run. What counts for a folder counts for none inside it. */
export function isRefused(
  { place, server }: { readonly place: ClientPlace; readonly server: WrittenServer },
  refusals: readonly Refusal[],
): boolean {
  if (place.dialect !== 'claude-code') return false
  const here = resolve(server.folder ?? place.workspace)
  const isShared = basename(place.file) === '.mcp.json'
  return refusals.some(
    ({ folder, any, shared }) =>
      (folder === undefined || resolve(folder) === here) &&
      (any.includes(server.name) || (isShared && shared.includes(server.name))),
  )
}
