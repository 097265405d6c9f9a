import type { Visit } from './http-endpoint.ts'

type Answers = Readonly<Record<string, (params: Record<string, unknown>) => Record<string, unknown>>>

/** Answers as a small server of 2025-11-25 does that has one tool, which changes nothing. */
export function answerLegacy(visit: Visit, answers: Answers = {}): void {
  const { method, body } = visit
  if (method !== 'POST') return visit.json(405)
  if (!('id' in body)) return visit.json(202)
  const answer = { ...USUAL, ...answers }[String(body.method)]
  if (answer) return visit.result(answer((body.params ?? {}) as Record<string, unknown>))
  visit.json(200, { jsonrpc: '2.0', id: body.id, error: { code: -32_601, message: 'Method not found' } })
}

const USUAL: Answers = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'tracker', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: [
      {
        name: 'count',
        description: 'Counts the open issues.',
        inputSchema: { type: 'object', properties: {} },
        annotations: { readOnlyHint: true },
      },
    ],
  }),
  'tools/call': () => ({ content: [{ type: 'text', text: '3 issues' }] }),
}
