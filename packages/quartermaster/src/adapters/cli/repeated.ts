/** For options that may be given more than once: all their values, in order. */
export function repeated(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}
