// What happened in a channel: releases, policy, prefetch configs, freezes and rollouts in one list.
export const kinds = { release: "Releases", policy: "Policy", prefetch: "Prefetch", rollout: "Rollouts", freeze: "Freezes" };
