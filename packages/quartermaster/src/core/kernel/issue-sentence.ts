/** Of a name that cannot be one, Zod says only that; why is in what it found before. */
export function issueSentence(issue: { readonly message: string }): string {
  const { code, issues } = issue as { code?: unknown; issues?: readonly { readonly message: string }[] }
  return (code === 'invalid_key' ? issues?.[0]?.message : undefined) ?? issue.message
}
