/** What to do about an upstream that lets nobody in who has not signed in. */
export function loginStep(upstream: string): string {
  return `Sign in: quartermaster login ${upstream}`
}

/** Whether a reason ends with that step. Where it does not, a login would not help. */
export function hasLoginStep(reason: string, upstream: string): boolean {
  return withoutLoginStep(reason, upstream) !== reason
}

/** A reason without that step at its end, for where the step is shown by itself. */
export function withoutLoginStep(reason: string, upstream: string): string {
  const step = loginStep(upstream)
  const text = reason.trimEnd().replace(/\.$/, '')
  return text.endsWith(step) ? text.slice(0, -step.length).trimEnd() : reason
}
