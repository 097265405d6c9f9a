/** What to do about an upstream that lets nobody in who has not signed in. */
export function loginStep(upstream: string): string {
  return `Sign in: quartermaster login ${upstream}`
}

/** A reason without that step at its end, for where the step is shown by itself. */
export function withoutLoginStep(reason: string, upstream: string): string {
  const step = loginStep(upstream)
  const text = reason.trimEnd().replace(/\.$/, '')
  return text.endsWith(step) ? text.slice(0, -step.length).trimEnd() : reason
}
