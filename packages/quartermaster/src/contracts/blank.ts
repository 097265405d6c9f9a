// Spaces of every kind, and what takes no room or is drawn as nothing: people would look at an empty bubble.
const SEEN = /[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Whether somebody who looks at this text sees nothing. */
export function isBlank(text: string): boolean {
  return !SEEN.test(text)
}
