/** What to know about an entry that is given a secret where others may read it, and what to do instead. */
export function argumentNotes({ args }: Readonly<Record<string, unknown>>, instead = 'use --env'): string[] {
  if (!Array.isArray(args) || !args.some(word => typeof word === 'string' && word.includes('${secret:'))) return []
  return [
    `A secret is among its arguments, which other accounts on this machine can read with ps. Where it takes it from a variable instead, ${instead}.`,
  ]
}
