/** The address of the only note. */
export const URI = 'desk://note'

const ABOUT = {
  capabilities: { tools: {}, resources: { subscribe: true } },
  serverInfo: { name: 'notes', version: '1' },
}

/** How a server of either era answers that has a note, and tells of changes in it. */
export const NOTES_ANSWERS = {
  initialize: () => ({ ...ABOUT, protocolVersion: '2025-11-25' }),
  'server/discover': () => ({ ...ABOUT, resultType: 'complete', supportedVersions: ['2026-07-28'] }),
  'resources/list': () => ({ resources: [{ uri: URI, name: 'note' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
}

/** What it says on its own, as an event of a stream. */
export function noticeOf(method: string, params: Record<string, unknown> = {}): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', method: `notifications/${method}`, params })}\n\n`
}

/** It has changed. */
export const UPDATED = noticeOf('resources/updated', { uri: URI })
