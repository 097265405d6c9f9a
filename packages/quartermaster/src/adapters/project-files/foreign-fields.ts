/** What to write instead of a field that other clients know. */
export function foreignFix(key: string): string | undefined {
  return Object.hasOwn(FIXES, key) ? FIXES[key] : undefined
}

const CONSENT = 'Remove it; what needs a person is said per tool: "tools": { "NAME": { "consent": [] } }.'
const TRANSPORT = 'Remove it; "command" or "url" says how the server is reached.'

const FIXES: Readonly<Record<string, string>> = {
  autoApprove: CONSENT,
  alwaysAllow: CONSENT,
  trust: CONSENT,
  disabledTools: 'Write "leaveOut" with the same list.',
  excludeTools: 'Write "leaveOut" with the same list.',
  enabledTools: 'Write "offer" with the same list.',
  includeTools: 'Write "offer" with the same list.',
  timeout: 'Write "timeoutMs" for calls, in milliseconds, or "startSeconds" for starting.',
  transport: TRANSPORT,
  transportType: TRANSPORT,
  gallery: 'Remove it.',
  description: 'Write "short".',
  name: 'Remove it; the name stands before the entry. A title for people is "title".',
  envFile:
    'Remove it, and put its variables into "env", secrets into secrets.json in the data folder; `quartermaster import` does both.',
  serverUrl: 'Write "url".',
  httpUrl: 'Write "url".',
  auth: 'Write "oauth" with "clientId", "clientSecret" and "scope".',
  headersHelper: 'Write "headers" with ${env:NAME} or ${secret:NAME}.',
}
